"""Boosting under equal means and bounded losses: held-out error and gap, next to fairlearn."""

import warnings

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from benchmarks.erm_cases import Split
from benchmarks.packages import is_installed
from benchmarks.peers.fair_regression import CASES
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import time_call
from skfair.constraints import BoundedGroupLoss, MeanParity
from skfair.metrics import largest_mean_squared_error, mean_score_difference
from skfair.regression import ConstrainedRegressorCV

FIRST_SEED = 10
"""First seed of the splits; none of them was used for any choice."""

TOLERANCES = (0.05, 0.2)
"""Largest differences of mean predictions, in standard deviations of the target."""

LOSS_FACTORS = (0.99, 0.5)
"""Bounds on the loss of every group, as shares of the largest one out of fold without constraint.

The reductions judge training predictions of boosting, whose losses are far below held-out ones: it
is the second bound that makes them move."""

REDUCTIONS = "ExponentiatedGradient"
PLAIN, FIVE_FOLDS, TWO_FOLDS = "plain", "ours", "ours, 2 folds"
AT_PEER_GAP = "{}, at the reductions' gap"


@smallest(
    N_TREES=5,
    CASES={"law school, grades": CASES["law school, grades"]},
    TOLERANCES=(0.2,),
    LOSS_FACTORS=(0.99,),
)
def regression(budget):
    """Boosting under equal means and bounded losses: error, gap and time next to fairlearn."""
    runs = pd.DataFrame(
        run
        for name in CASES
        for seed in range(FIRST_SEED, FIRST_SEED + budget.n_runs)
        for run in _compare(name, seed)
    )
    columns = ["data", "constraint", "bound", "method"]
    figures = ["seconds", "error", "gap", "noise", "excess"]
    means = _divide_by_reductions(runs.groupby(columns, sort=False)[figures].mean())
    parity = runs[runs["constraint"] == "equal means"].dropna(subset="excess")
    in_errors = (parity["gap"] - parity["bound"]) / parity["noise"]
    checks = [
        Check("excess of out-of-fold gaps", runs["excess"].dropna().tolist(), "<=", 1e-9),
        Check("excess of held-out gaps, in standard errors", in_errors.tolist(), "<=", 3.0),
        *_peer_checks(means),
    ]
    title = (
        "HistGradientBoosting, means over splits: CPU s; held-out mean squared error "
        "and gap, in standard deviations of the target: difference of mean predictions, or largest "
        "mean loss of a group; noise: standard error of the difference; excess: out-of-fold gap "
        "above the bound, empty where no linear model keeps it; theirs: of the reductions"
    )
    return Report(title, means.reset_index().to_dict("records"), checks)


def _compare(name, seed):
    """Runs of all methods on one split; fairlearn has no reduction to equal means."""
    train, test, unit = _split(name, seed)
    plain = time_call(lambda: base().fit(train.X, train.y).predict(test.X))

    def describe(gap_of, method, run, excess=np.nan):
        error = np.mean((run.result - test.y) ** 2) / unit**2
        gap = gap_of(test, run.result) / (unit if gap_of is mean_gap else unit**2)
        figures = {"seconds": run.seconds, "error": error, "gap": gap, "excess": excess}
        if gap_of is mean_gap:
            figures["noise"] = _standard_error(test, run.result, unit)
        return {"data": name, "method": method} | figures

    def describe_ours(gap_of, method, constraint, **settings):
        run = time_call(_fit, train, constraint, settings)
        model, excess = run.result, np.nan
        if model.status_ != "infeasible":
            excess = gap_of(train, model.oof_prediction_) - constraint.tolerance
            excess /= unit if gap_of is mean_gap else unit**2
        return describe(gap_of, method, run._replace(result=model.predict(test.X)), excess)

    for tolerance in TOLERANCES:
        what = {"constraint": "equal means", "bound": tolerance}
        parity = MeanParity(tolerance=tolerance * unit)
        yield what | describe(mean_gap, PLAIN, plain)
        yield what | describe_ours(mean_gap, FIVE_FOLDS, parity)
        yield what | describe_ours(mean_gap, TWO_FOLDS, parity, cv=2)

    worst = largest_loss(train, _fit(train, None, {}).oof_prediction_)
    for factor in LOSS_FACTORS:
        what = {"constraint": "bounded loss", "bound": factor}
        bound = BoundedGroupLoss(factor * worst)
        yield what | describe(largest_loss, PLAIN, plain)
        yield what | describe_ours(largest_loss, FIVE_FOLDS, bound)
        yield what | describe_ours(largest_loss, TWO_FOLDS, bound, cv=2)
        if not is_installed("fairlearn"):
            continue
        reduced = time_call(_predict_reduced, train, test, factor * worst)
        # The share of the plain regressor's loss that the reduction leaves: losses themselves
        # differ between out-of-fold and held-out samples by sampling noise.
        losses = [largest_loss(test, one.result) for one in (reduced, plain)]
        at_peer_gap = BoundedGroupLoss(worst * losses[0] / losses[1])
        yield what | describe(largest_loss, REDUCTIONS, reduced)
        yield what | describe_ours(largest_loss, AT_PEER_GAP.format(FIVE_FOLDS), at_peer_gap)
        yield what | describe_ours(largest_loss, AT_PEER_GAP.format(TWO_FOLDS), at_peer_gap, cv=2)


def _divide_by_reductions(means):
    """Add each method's error and time over those of the reductions, where these were run."""
    by_method = means.reset_index("method")
    theirs = by_method[by_method["method"] == REDUCTIONS].reindex(by_method.index)
    ratios = by_method[["error", "seconds"]] / theirs[["error", "seconds"]]
    ratios.index = means.index
    return means.assign(**{"error / theirs": ratios["error"], "time / theirs": ratios["seconds"]})


def _peer_checks(means):
    """Checks of ours against the reductions: error, gap and time."""
    bounded = means.xs("bounded loss", level="constraint")
    for (name, bound), rows in bounded.groupby(level=[0, 1], sort=False):
        methods = rows.droplevel([0, 1])
        what = f"{name}, bound {bound}"
        if REDUCTIONS not in methods.index:
            continue
        theirs = methods.loc[REDUCTIONS]
        for method in (FIVE_FOLDS, TWO_FOLDS):
            ours = methods.loc[AT_PEER_GAP.format(method)]
            more_error = [ours.error - theirs.error]
            more_gap = [ours.gap - theirs.gap]
            yield Check(f"error of {method} above the reductions', {what}", more_error, "<=", 0.0)
            yield Check(f"gap of {method} above the reductions', {what}", more_gap, "<=", 0.01)
            ratio = methods.loc[method, "time / theirs"]
            yield Check(f"time of {method} / reductions, {what}", [ratio], "<=", 0.2)


N_TREES = 100
"""Trees of the regressor without constraint."""


def base():
    """The regressor without constraint: trees of 31 leaves."""
    return HistGradientBoostingRegressor(max_iter=N_TREES, early_stopping=False, random_state=0)


def mean_gap(samples, predictions):
    """Difference of the groups' mean predictions."""
    return mean_score_difference(predictions, sensitive_features=samples.groups)


def largest_loss(samples, predictions):
    """Largest mean squared error of a group."""
    return largest_mean_squared_error(samples.y, predictions, sensitive_features=samples.groups)


def _standard_error(samples, predictions, unit):
    """Standard error of the difference of two groups' mean predictions."""
    inside = [predictions[samples.groups == group] for group in np.unique(samples.groups)]
    return np.sqrt(sum(one.var() / len(one) for one in inside)) / unit


def _split(name, seed):
    """Training and test samples, and the standard deviation of the training target."""
    X, y, groups = CASES[name]()
    columns = (
        pd.DataFrame(X).to_numpy(float),
        np.asarray(y, dtype=float),
        np.asarray(groups).astype(str),
    )
    halves = train_test_split(*columns, test_size=0.3, random_state=seed)
    return Split(*halves[::2]), Split(*halves[1::2]), halves[2].std()


def _fit(train, constraint, settings):
    """Fit without warnings, because gaps and statuses are reported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = ConstrainedRegressorCV(base(), constraint, **settings)
        return model.fit(train.X, train.y, sensitive_features=train.groups)


def _predict_reduced(train, test, bound):
    """Mean predictions of the reduction.

    Its own predictions are those of a regressor that is drawn, whose error is no smaller.
    """
    from fairlearn import reductions

    loss = reductions.SquareLoss(train.y.min(), train.y.max())
    bounded = reductions.BoundedGroupLoss(loss, upper_bound=bound)
    model = reductions.ExponentiatedGradient(base(), bounded)
    model.fit(train.X, train.y, sensitive_features=train.groups)
    pairs = zip(model.weights_, model.predictors_, strict=False)
    return sum(weight * one.predict(test.X) for weight, one in pairs)
