"""Libraries that bound a gap around a boosting model: the tables of README and guide.

Adult, demographic parity between the sexes with a tolerance of .05. No method predicts from the
column sex unless it must. Every figure is a mean over held-out data of splits that were used for no
choice. Each library uses its method that takes any classifier and a tolerance.
"""

import warnings
from time import process_time

import numpy as np
import pandas as pd
from scipy.linalg import block_diag
from scipy.optimize import linprog
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import check_estimator

from benchmarks import data
from benchmarks.erm_cases import Split, case
from benchmarks.packages import is_installed
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report, save_figure
from skfair.classification import ConstrainedClassifierCV
from skfair.metrics import demographic_parity_difference

TOLERANCE = 0.05
FIRST_SEED = 40
"""First seed of the splits; none of them was used for any choice."""


class Plain:
    """The boosting model without a constraint."""

    name = "plain boosting"
    needs_groups = False
    package = "skfair"

    def build(self, classifier):
        """Return the estimator around a classifier."""
        return classifier

    def fit(self, classifier, train):
        """Return the fitted estimator."""
        return classifier.fit(train.X, train.y)

    def predict(self, model, test):
        """Return decisions about held-out samples."""
        return model.predict(test.X)


class Skfair(Plain):
    """`ConstrainedClassifierCV` with its defaults."""

    name = "skfair"

    def build(self, classifier):
        """Return the estimator around a classifier."""
        return ConstrainedClassifierCV(classifier, "demographic_parity", tolerance=TOLERANCE)

    def fit(self, classifier, train):
        """Return the fitted estimator."""
        model = self.build(classifier)
        return model.fit(train.X, train.y, sensitive_features=train.groups)


class Fairlearn(Plain):
    """Fairlearn's reduction, with random decisions of several models."""

    name = package = "fairlearn"

    def build(self, classifier):
        """Return the estimator around a classifier."""
        from fairlearn.reductions import DemographicParity, ExponentiatedGradient

        return ExponentiatedGradient(classifier, DemographicParity(difference_bound=TOLERANCE))

    def fit(self, classifier, train):
        """Return the fitted estimator."""
        model = self.build(classifier)
        return model.fit(train.X, train.y, sensitive_features=train.groups)


class RejectOption(ClassifierMixin, BaseEstimator):
    """AIF360's reject option behind a classifier: decisions near the threshold change by group.

    AIF360's own wrapper needs a scikit-learn before 1.7, so the steps of its ``fit`` are repeated
    here. A quarter of the samples is held out to choose threshold and width by cross-validation:
    the most accurate pair whose gap is at most the tolerance. The index of X is the group.
    """

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y):
        """Fit the classifier on three quarters of the samples, the reject option on the rest."""
        from aif360.sklearn.metrics import statistical_parity_difference
        from aif360.sklearn.postprocessing import RejectOptionClassifierCV

        X, X_rest, y, y_rest = train_test_split(X, y, test_size=0.25, random_state=0)
        self.estimator_ = clone(self.estimator).fit(X, y)
        self.classes_ = self.estimator_.classes_
        scoring = {
            "accuracy": "accuracy",
            "gap": make_scorer(statistical_parity_difference, prot_attr="sex", priv_group="Male"),
        }
        search = RejectOptionClassifierCV("sex", scoring=scoring, refit=_choose)
        self.search_ = search.fit(self._probabilities(X_rest), y_rest, priv_group="Male")
        return self

    def predict(self, X):
        """Return decisions about samples whose groups are the index of X."""
        return self.search_.predict(self._probabilities(X))

    def _probabilities(self, X):
        """Return the probabilities of both classes with the index of X."""
        return pd.DataFrame(self.estimator_.predict_proba(X), index=X.index)


def _choose(results):
    """Return the number of the most accurate pair that meets the tolerance."""
    is_feasible = np.abs(results["mean_test_gap"]) <= TOLERANCE
    return int(np.where(is_feasible, results["mean_test_accuracy"], -1).argmax())


class AIF360(Plain):
    """AIF360's reject option."""

    name, package = "AIF360", "aif360"
    needs_groups = True

    def build(self, classifier):
        """Return the estimator around a classifier."""
        return RejectOption(classifier)

    def fit(self, classifier, train):
        """Return the fitted estimator."""
        return self.build(classifier).fit(_features(train), _target(train))

    def predict(self, model, test):
        """Return decisions about held-out samples from features and groups."""
        return model.predict(_features(test))


class OxonFair(Plain):
    """OxonFair's thresholds by group, chosen on a quarter of the training samples."""

    name, package = "OxonFair", "oxonfair"
    needs_groups = True

    def fit(self, classifier, train):
        """Return the fitted predictor."""
        from oxonfair import FairPredictor
        from oxonfair.utils import group_metrics

        classifier, rest = _fit_on_three_quarters(classifier, train)
        data = {"data": rest.X, "target": rest.y, "groups": rest.groups}
        predictor = FairPredictor(classifier, data)
        predictor.fit(group_metrics.accuracy, group_metrics.demographic_parity, TOLERANCE)
        return predictor

    def predict(self, model, test):
        """Return decisions about held-out samples from features and groups."""
        data = {"data": test.X, "target": test.y, "groups": test.groups}
        return np.asarray(model.predict(data))


class ErrorParity(Plain):
    """Relaxed thresholds by group of error-parity, chosen on a quarter of the training samples."""

    name, package = "error-parity", "error_parity"
    needs_groups = True

    def fit(self, classifier, train):
        """Return the fitted predictor."""
        from error_parity import RelaxedThresholdOptimizer

        classifier, rest = _fit_on_three_quarters(classifier, train)
        predictor = RelaxedThresholdOptimizer(
            predictor=lambda X: classifier.predict_proba(X)[:, 1],
            constraint="demographic_parity",
            tolerance=TOLERANCE,
        )
        return predictor.fit(rest.X, rest.y, group=_number(rest.groups))

    def predict(self, model, test):
        """Return decisions about held-out samples from features and groups."""
        return np.asarray(model(test.X, group=_number(test.groups)))


class LinearPost(Plain):
    """Xian and Zhao's LinearPost: a linear rule of the probabilities of the class and the groups.

    No package index has a distribution of it, so its published linear program is solved here
    (arXiv:2405.04025). The probabilities are those of boosting on three quarters of the training
    samples, and the program is solved on the rest. The rule follows from its dual.
    """

    name = "LinearPost"

    def fit(self, classifier, train):
        """Return the classifier, the model of the group, and the weights of the groups."""
        group_model, _ = _fit_on_three_quarters(classifier, train._replace(y=train.groups))
        classifier, rest = _fit_on_three_quarters(classifier, train)
        gains = 2 * classifier.predict_proba(rest.X)[:, 1] - 1
        memberships = group_model.predict_proba(rest.X)
        return classifier, group_model, linear_post_weights(gains, [memberships], TOLERANCE)

    def predict(self, model, test):
        """Return decisions about held-out samples from their features."""
        classifier, group_model, weights = model
        gains = 2 * classifier.predict_proba(test.X)[:, 1] - 1
        return (gains > group_model.predict_proba(test.X) @ weights).astype(int)


def linear_post_weights(gains, blocks, tolerance):
    """Return the weight of each event in LinearPost's rule: accept if gains > events @ weights.

    `gains` are ``2 * P(y = 1) - 1``. A block has the probabilities of events whose rates are nearly
    equal, (n_samples, n_groups). The unknowns of the program are the probability of acceptance of
    each sample, and the common rate of each block. The rate of an event is the mean of acceptances
    weighted by its probabilities, and lies within half of the tolerance of the common rate.
    """
    events = np.hstack(blocks)
    sizes = events.sum(axis=0)
    n_samples = len(gains)
    common = block_diag(*[np.ones((block.shape[1], 1)) for block in blocks])
    rates = np.hstack(((events / sizes).T, -common))
    program = linprog(
        np.append(-gains / n_samples, np.zeros(len(blocks))),
        A_ub=np.vstack([rates, -rates]),
        b_ub=np.full(2 * len(sizes), tolerance / 2),
        bounds=(0, 1),
    )
    # Dual variables of the upper and of the lower bounds.
    upper, lower = np.split(-program.ineqlin.marginals, 2)
    return (upper - lower) * n_samples / sizes


def _number(groups):
    """Return the numbers of the groups, by which error-parity looks them up."""
    return np.unique(groups, return_inverse=True)[1]


def _fit_on_three_quarters(classifier, train):
    """Return a classifier of three quarters of the samples, and the other quarter."""
    order = np.arange(len(train.y))
    fitted, rest = train_test_split(order, test_size=0.25, random_state=0)
    classifier = clone(classifier).fit(train.X[fitted], train.y[fitted])
    return classifier, Split(train.X[rest], train.y[rest], train.groups[rest])


def _features(split):
    """Return features whose index is the group, as AIF360 takes them."""
    return pd.DataFrame(split.X, index=pd.Index(split.groups, name="sex"))


def _target(split):
    """Return the target with the same index."""
    return pd.Series(split.y, index=pd.Index(split.groups, name="sex"))


CHECKED = ("plain boosting", "skfair", "fairlearn", "AIF360")
"""Names of the libraries that are estimators."""

N_TREES = 100
"""Trees of the boosting model."""

LIBRARIES = (Plain(), Skfair(), Fairlearn(), AIF360(), OxonFair(), ErrorParity(), LinearPost())


@smallest(data, MAX_SAMPLES=1500)
@smallest(N_TREES=5, CHECKED=("plain boosting", "skfair"))
def libraries(budget):
    """Compare six methods around gradient boosting on Adult, held-out data.

    Times are CPU seconds on one thread, as a ratio to the plain fit of the same split.
    "Checks failed" counts scikit-learn's estimator checks around logistic regression, of those in
    `CHECKED`. The picture of all splits is written to
    ``benchmarks/figures/libraries.png``.
    """
    compared = [library for library in LIBRARIES if is_installed(library.package)]
    splits = [
        case("Adult", seed, blind=True) for seed in range(FIRST_SEED, FIRST_SEED + budget.n_runs)
    ]
    runs = {
        library.name: pd.DataFrame([_run(library, split) for split in splits])
        for library in compared
    }
    plain, ours = (runs[name] for name in ("plain boosting", "skfair"))
    records = [
        {
            "library": library.name,
            "held-out accuracy": runs[library.name]["accuracy"].mean(),
            "s.e. of accuracy": runs[library.name]["accuracy"].sem(),
            "held-out gap": runs[library.name]["gap"].mean(),
            "s.e. of gap": runs[library.name]["gap"].sem(),
            "largest gap": runs[library.name]["gap"].max(),
            "fit time / plain": (runs[library.name]["seconds"] / plain["seconds"]).median(),
            "predicts without groups": not library.needs_groups,
            "same decisions when asked twice": bool(runs[library.name]["repeatable"].all()),
            "checks failed": _count_failed_checks(library) if library.name in CHECKED else None,
        }
        for library in compared
    ]
    checks = [
        Check("gap of plain boosting", [plain["gap"].mean()], ">=", 2 * TOLERANCE),
        Check("gap of skfair", [ours["gap"].mean()], "<=", TOLERANCE),
        Check(
            "estimator checks that skfair fails",
            [record["checks failed"] for record in records if record["library"] == "skfair"],
            "<=",
            0,
        ),
    ]
    _draw(records)
    return Report(f"Boosting on Adult, gap at most {TOLERANCE}, held-out data", records, checks)


def _draw(records):
    """Write the picture: the mean gap of each library, a line to its largest, and its accuracy."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    compared = sorted(records, key=lambda record: -record["largest gap"])
    figure, axes = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
    axes.axvline(100 * TOLERANCE, color="#59616b", linestyle="--", linewidth=1)
    axes.annotate(" tolerance", (100 * TOLERANCE, len(compared) - 0.55), color="#59616b")
    for height, record in enumerate(compared[::-1]):
        color = "#0072B2" if record["library"] == "skfair" else "#6b7480"
        mean, largest = (100 * record[name] for name in ("held-out gap", "largest gap"))
        axes.plot([mean, largest], [height, height], color=color, linewidth=3)
        axes.plot(mean, height, "o", color=color, markersize=9)
        text = f"{mean:.1f} to {largest:.1f}; accuracy {100 * record['held-out accuracy']:.1f} %"
        axes.annotate(
            text,
            (largest, height),
            (8, 0),
            textcoords="offset points",
            va="center",
            color=color,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )
    axes.set_yticks(range(len(compared)), [record["library"] for record in compared[::-1]])
    axes.set(xlim=(0, 27), ylim=(-0.6, len(compared) - 0.2))
    axes.set_xticks([0, 5, 10, 15, 20])
    axes.set_xlabel("gap of women and men in selection on held-out data, in points")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    accurate = max(compared[1:], key=lambda record: record["held-out accuracy"])["library"]
    figure.suptitle(
        f"{accurate} keeps the most accuracy, and exceeds the tolerance",
        x=0.01,
        ha="left",
        weight="bold",
    )
    save_figure(figure, "libraries.png")


def _run(library, split):
    """Return accuracy, gap and seconds of one split."""
    classifier = HistGradientBoostingClassifier(max_iter=N_TREES, random_state=0)
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = library.fit(classifier, split.train)
        seconds = process_time() - start
        decisions, again = (library.predict(model, split.test) for _ in range(2))
    groups = split.test.groups
    return {
        "accuracy": np.mean(decisions == split.test.y),
        "gap": demographic_parity_difference(split.test.y, decisions, sensitive_features=groups),
        "seconds": seconds,
        "repeatable": np.array_equal(decisions, again),
    }


def _count_failed_checks(library):
    """Return how many of scikit-learn's checks the estimator around logistic regression fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(library.build(LogisticRegression()), on_skip=None, on_fail=None)
    return sum(result["status"] == "failed" for result in results)
