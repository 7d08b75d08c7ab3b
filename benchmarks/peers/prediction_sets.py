"""Prediction sets of public data: coverage and size by group, next to crepes and MAPIE."""

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from benchmarks.data import (
    fetch_acs_income,
    fetch_adult,
    fetch_bank_marketing,
    fetch_compas,
    fetch_law_school,
)
from benchmarks.packages import is_installed, name_versions
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report, join_reports
from benchmarks.timing import time_call
from skfair.conformal import ConformalClassifier, ConformalRegressor

CASES = {
    "law school grade, race": (fetch_law_school, "race"),
    "law school bar, race": (fetch_law_school, "race"),
    "Bank, age": (fetch_bank_marketing, "age"),
    "Adult, sex": (fetch_adult, "sex"),
    "ACS income, sex": (fetch_acs_income, "sex"),
    "COMPAS, race": (fetch_compas, "race"),
}
"""Function that fetches the data, and the sensitive attribute, by name of the case."""

FIRST_SEED = 100
"""Seed of the first split."""

MORE_SPLITS = {"law school grade, race": 4, "law school bar, race": 4}
"""Factors of the number of splits, where the small group has few held-out samples."""

LEVEL, MIN_GROUP, N_TREES, N_FOLDS = 0.9, 600, 80, 5

UNEQUAL = 0.03
"""Smallest gap of pooled sets where groups count as unequally covered."""

N_DRAWS, N_DRAWN, N_POPULATION = 60, 4000, 100_000
"""Training sets of the generated population, samples in each, and samples of the population."""

N_OVERLAPPING, N_CALIBRATION, N_COLUMNS = 20, 1000, 10
"""Draws with overlapping groups, samples that fit, calibrate and judge in each, and groups."""


@smallest(
    CASES={name: CASES[name] for name in ("law school grade, race", "COMPAS, race")},
    MORE_SPLITS={},
    MIN_GROUP=40,
    N_TREES=3,
    N_DRAWS=2,
    N_POPULATION=2000,
    N_OVERLAPPING=2,
    N_CALIBRATION=200,
)
def prediction_sets(budget):
    """Sets at a coverage of .9: coverage by group, gap, size and CPU time, next to peers.

    Rules are one threshold for all samples, thresholds by group, and blind ones, which need no
    group at predict. crepes (Mondrian) and MAPIE (one conformal object per group) get the same
    out-of-fold scores. Redraws of a population then count training sets after which some group is
    covered less than the level, with ``confidence_level=0.95``. Ten groups that overlap and are
    known follow, next to MAPIE's conditional conformal prediction.
    """
    return join_reports([_redraw_levels(), _compare_overlapping(), _compare_rules(budget.n_runs)])


# Public data.


class Split(NamedTuple):
    """One data set, divided into training and held-out samples."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    X_new: np.ndarray
    y_new: np.ndarray
    groups_new: np.ndarray
    base: BaseEstimator
    folds: list

    @property
    def is_regression(self):
        """Whether the target is real."""
        return self.y.dtype.kind == "f"


def _compare_rules(n_splits):
    """Means over splits of the figures of each rule on each data set."""
    records = []
    means = {}
    for name in CASES:
        seeds = range(FIRST_SEED, FIRST_SEED + n_splits * MORE_SPLITS.get(name, 1))
        tables = [_split_figures(name, seed) for seed in seeds]
        for rule, figures in pd.concat(tables).groupby("rule", sort=False):
            mean = means[name, rule] = figures.drop(columns="rule").mean()
            by_group = mean[[column for column in mean.index if column.startswith("group ")]]
            mean["mean off"] = np.abs(by_group - LEVEL).max()
            shown = {"data": name, "splits": len(seeds), "rule": rule}
            shown["s.e. of gap"] = figures["gap"].sem()
            records.append(shown | dict(mean.drop(by_group.index)))
    title = (
        f"Held-out coverage at {LEVEL}, means of splits. 'mean off': distance of mean coverage "
        "from the level, largest of groups. 'x fits': CPU time / fits of the folds. "
        "'plain': splits where one threshold is returned"
    ) + name_versions("crepes", "mapie")
    return Report(title, records, _check_rules(means))


def _split_figures(name, seed):
    """One row of figures for each rule on one split."""
    split = _make_split(name, seed)
    (models, scores), fit_seconds = time_call(_cross_fit, split)
    new_scores = np.mean([_score(model, split.X_new) for model in models], axis=0)
    rows = []
    for rule in ("pooled", "by group", "blind"):
        model, seconds = time_call(_fit_rule, split, rule)
        passed = {"sensitive_features": split.groups_new} if rule == "by group" else {}
        predict = model.predict_interval if split.is_regression else model.predict_set
        row = _figures(split, predict(split.X_new, **passed))
        is_plain = float(not np.any(model.rule_coef_))
        rows.append({"rule": rule, **row, "x fits": seconds / fit_seconds, "plain": is_plain})
    for peer, (package, make_sets) in PEERS.items():
        if is_installed(package):
            sets, seconds = time_call(make_sets, split, scores, new_scores)
            ratio = 1.0 + seconds / fit_seconds
            rows.append({"rule": peer, **_figures(split, sets), "x fits": ratio})
    return pd.DataFrame(rows)


def _make_split(name, seed):
    X, y, groups = _load(name)
    train, test = train_test_split(
        np.arange(len(y)), train_size=0.7, random_state=seed, stratify=groups
    )
    columns = [column[rows] for rows in (train, test) for column in (X, y, groups)]
    is_regression = y.dtype.kind == "f"
    boosting = HistGradientBoostingRegressor if is_regression else HistGradientBoostingClassifier
    splitter = KFold if is_regression else StratifiedKFold
    folds = splitter(N_FOLDS, shuffle=True, random_state=seed).split(X[train], y[train])
    return Split(*columns, boosting(max_iter=N_TREES, random_state=0), list(folds))


def _load(name):
    """Features as numbers, target and groups, without groups of fewer than MIN_GROUP samples."""
    fetch, attribute = CASES[name]
    bunch = fetch(sensitive=attribute, drop_sensitive=True)
    frame = bunch.data
    y = pd.factorize(np.asarray(bunch.target), sort=True)[0]
    if "grade" in name:
        y = frame["zfygpa"].to_numpy(float)
        frame = frame.drop(columns=["zfygpa", "zgpa"])
    texts = [column for column in frame if not pd.api.types.is_numeric_dtype(frame[column])]
    frame = frame.assign(**{column: pd.factorize(frame[column])[0] for column in texts})
    groups = np.asarray(bunch.sensitive_features).astype(str).ravel()
    counts = pd.Series(groups).value_counts()
    is_large = counts[groups].to_numpy() >= MIN_GROUP
    return frame.to_numpy(float)[is_large], y[is_large], groups[is_large]


def _cross_fit(split):
    """Models of the folds, and out-of-fold scores."""
    models = []
    scores = None
    for train, test in split.folds:
        models.append(clone(split.base).fit(split.X[train], split.y[train]))
        of_fold = _score(models[-1], split.X[test])
        scores = np.empty((len(split.y), of_fold.shape[1])) if scores is None else scores
        scores[test] = of_fold
    return models, scores


def _score(model, X):
    """Probabilities of the classes, or the predicted target as one column."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    return model.predict(X)[:, np.newaxis]


def _fit_rule(split, rule):
    conformal = ConformalRegressor if split.is_regression else ConformalClassifier
    group_estimator = "sensitive_features" if rule == "by group" else None
    model = conformal(split.base, coverage=LEVEL, group_estimator=group_estimator, cv=split.folds)
    groups = np.full(len(split.y), "all") if rule == "pooled" else split.groups
    with warnings.catch_warnings():  # groups that X tells little about: the table has coverage
        warnings.simplefilter("ignore")
        return model.fit(split.X, split.y, sensitive_features=groups)


def _figures(split, sets):
    """Coverage by group, and mean size, of sets of the held-out samples."""
    y = split.y_new
    if split.is_regression:
        covered = (sets[:, 0] <= y) & (y <= sets[:, 1])
        sizes = sets[:, 1] - sets[:, 0]
    else:
        covered = sets[np.arange(len(y)), y]
        sizes = sets.sum(axis=1)
    rates = pd.Series(covered).groupby(split.groups_new).mean()
    figures = {"worst": rates.min(), "gap": rates.max() - rates.min(), "size": sizes.mean()}
    return figures | {f"group {name}": rate for name, rate in rates.items()}


# Peers: sets of new samples from out-of-fold scores, with the group.


def _make_crepes_sets(split, scores, new_scores):
    from crepes import ConformalClassifier, ConformalRegressor

    bins = split.groups
    settings = {"bins": split.groups_new, "confidence": LEVEL}
    if split.is_regression:
        peer = ConformalRegressor().fit(split.y - scores[:, 0], bins=bins)
        return peer.predict_int(new_scores[:, 0], **settings)
    true_scores = scores[np.arange(len(scores)), split.y]
    peer = ConformalClassifier().fit(1.0 - true_scores, bins=bins)
    return np.asarray(peer.predict_set(1.0 - new_scores, smoothing=False, **settings), dtype=bool)


class _Passed(BaseEstimator):
    """A fitted estimator whose features are its predictions."""

    fitted_ = True  # MAPIE looks for such an attribute

    def fit(self, X, y):
        """Return the estimator as it is; MAPIE requires the method."""
        return self

    def predict_proba(self, X):
        """Return the columns, which are probabilities."""
        return X


class _PassedClassifier(ClassifierMixin, _Passed):
    def predict(self, X):
        """Return the classes of largest probability."""
        return self.classes_[X.argmax(axis=1)]


class _PassedRegressor(RegressorMixin, _Passed):
    def predict(self, X):
        """Return the only column."""
        return X[:, 0]


def _make_mapie_sets(split, scores, new_scores):
    from mapie.classification import SplitConformalClassifier
    from mapie.regression import SplitConformalRegressor

    sets = np.empty((len(new_scores), 2 if split.is_regression else scores.shape[1]))
    for name in np.unique(split.groups):
        rows = split.groups == name
        new = split.groups_new == name
        if split.is_regression:
            peer = SplitConformalRegressor(_PassedRegressor(), LEVEL)
            peer.conformalize(scores[rows], split.y[rows])
            sets[new] = peer.predict_interval(new_scores[new])[1][:, :, 0]
        else:
            estimator = _PassedClassifier()
            estimator.classes_ = np.arange(scores.shape[1])
            peer = SplitConformalClassifier(estimator, LEVEL)
            peer.conformalize(scores[rows], split.y[rows])
            sets[new] = peer.predict_set(new_scores[new])[1][:, :, 0]
    return sets if split.is_regression else sets.astype(bool)


PEERS = {
    "crepes, by group": ("crepes", _make_crepes_sets),
    "MAPIE, by group": ("mapie", _make_mapie_sets),
}
"""Package, and function of a split and scores, by name of the rule."""


def _check_rules(means):
    """Gap and size of blind sets against those by group, coverage, and time."""
    unequal = [name for name in CASES if means[name, "pooled"]["gap"] > UNEQUAL]
    pairs = [(means[name, "blind"], means[name, "by group"]) for name in unequal]
    ours = [means[name, rule] for name in CASES for rule in ("by group", "blind")]
    plain = [means[name, "blind"]["plain"] for name in CASES if name not in unequal]
    peers = [
        (means[name, "by group"]["x fits"], means[name, peer]["x fits"])
        for name in CASES
        for peer in PEERS
        if (name, peer) in means
    ]
    return [
        Check("gap, blind less by group", [a["gap"] - b["gap"] for a, b in pairs], "<=", 0.005),
        Check("size, blind / by group", [a["size"] / b["size"] for a, b in pairs], "<=", 1.03),
        Check("mean coverage of a group off the level", [a["mean off"] for a in ours], "<=", 0.01),
        Check("plain rule where coverage is equal, of splits", plain, ">=", 0.6),
        Check(
            "CPU time by group / fits of the folds",
            [means[name, "by group"]["x fits"] for name in CASES],
            "<=",
            1.3,
        ),
        Check("CPU time by group / that of a peer", [a / b for a, b in peers], "<=", 1.3),
    ]


# Level of the guarantee.


def _redraw_levels():
    """Training sets of a population after which some group is covered less than the level."""
    records = []
    X_first, y_first, _ = _draw(np.random.default_rng(99), 5000)
    base = FrozenEstimator(LinearRegression().fit(X_first, y_first))
    X, y, groups = _draw(np.random.default_rng(98), N_POPULATION)
    for rule in ("by group", "blind"):
        group_estimator = "sensitive_features" if rule == "by group" else LogisticRegression()
        passed = {"sensitive_features": groups} if rule == "by group" else {}
        worst, widths = [], []
        for seed in range(N_DRAWS):
            X_drawn, y_drawn, drawn = _draw(np.random.default_rng(1000 + seed), N_DRAWN)
            model = ConformalRegressor(
                base, LEVEL, confidence_level=0.95, group_estimator=group_estimator
            ).fit(X_drawn, y_drawn, sensitive_features=drawn)
            low, high = model.predict_interval(X, **passed).T
            widths.append(np.mean(high - low))
            worst.append(pd.Series((low <= y) & (y <= high)).groupby(groups).mean().min())
        below = np.less(worst, LEVEL).mean()
        means = {"mean worst": np.mean(worst), "mean size": np.mean(widths)}
        records.append({"rule": rule, **means, "below the level": below})
    limit = 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / N_DRAWS)
    shares = [record["below the level"] for record in records]
    checks = [Check("training sets with a group below the level", shares, "<=", round(limit, 3))]
    title = f"Worst coverage in the population by {N_DRAWS} training sets of {N_DRAWN} samples"
    return Report(title, records, checks)


def _draw(rng, n_samples):
    """Features, target and group: groups of 70, 28 and 2 %, with noise of 1, 2 and 3."""
    groups = rng.choice(3, n_samples, p=[0.7, 0.28, 0.02])
    X = rng.normal(size=(n_samples, 4))
    X[:, :3] += np.diag([1.5, 1.5, 3.0])[groups]
    return X, X.sum(axis=1) + (1 + groups) * rng.normal(size=n_samples), groups


# Groups that overlap.


def _compare_overlapping():
    """Coverage of ten overlapping groups that are known: means over draws of each rule."""
    tables = [pd.DataFrame(_overlapping_figures(seed)) for seed in range(N_OVERLAPPING)]
    means = pd.concat(tables).groupby("rule", sort=False).mean()
    records = [{"rule": rule, **figures} for rule, figures in means.iterrows()]
    title = (
        f"{N_COLUMNS} overlapping groups, {N_OVERLAPPING} draws of {N_CALIBRATION} samples to "
        "calibrate and as many to judge. 'gap': highest less lowest coverage of a group"
    ) + name_versions("mapie")
    checks = []
    if _CONDITIONAL in means.index:
        ours, peer = means.loc["overlapping, known"], means.loc[_CONDITIONAL]
        checks = [
            Check("gap less that of MAPIE", [ours["gap"] - peer["gap"]], "<=", 0.005),
            Check("width / that of MAPIE", [ours["width"] / peer["width"]], "<=", 1.01),
            Check("CPU time / that of MAPIE", [ours["CPU s"] / peer["CPU s"]], "<=", 1.0),
        ]
    return Report(title, records, checks)


_CONDITIONAL = "MAPIE, conditional"


def _overlapping_figures(seed):
    """One row of figures for each rule on one draw."""
    rng = np.random.default_rng(seed)
    shares = rng.uniform(0.1, 0.5, size=N_COLUMNS)
    members = rng.random((3 * N_CALIBRATION, N_COLUMNS)) < shares
    noise = 1.0 + members @ np.linspace(0.0, 1.5, N_COLUMNS)
    X = np.column_stack((rng.normal(size=(len(members), 3)), members))
    y = X[:, :3].sum(axis=1) + noise * rng.normal(size=len(members))
    fit, calibrate, new = np.split(np.arange(len(y)), 3)
    base = LinearRegression().fit(X[fit], y[fit])
    sets = {
        "one threshold": lambda: _make_prefit_intervals(base, X, y, None, calibrate, new),
        "overlapping, known": lambda: _make_prefit_intervals(base, X, y, members, calibrate, new),
    }
    if is_installed("mapie"):
        sets[_CONDITIONAL] = lambda: _make_conditional_intervals(base, X, y, calibrate, new)
    rows = []
    for rule, make in sets.items():
        (low, high), seconds = time_call(make)
        covered = (low <= y[new]) & (y[new] <= high)
        rates = np.array([covered[column].mean() for column in members[new].T])
        figures = {"lowest": rates.min(), "gap": np.ptp(rates), "mean": rates.mean()}
        rows.append({"rule": rule, **figures, "width": (high - low).mean(), "CPU s": seconds})
    return rows


def _make_prefit_intervals(base, X, y, members, calibrate, new):
    """Ends of the intervals of new samples, of one threshold or by known memberships."""
    groups = np.full((len(y), 1), "all") if members is None else sparse.csr_array(members)
    model = ConformalRegressor(base, LEVEL, group_estimator="sensitive_features", cv="prefit")
    model.fit(X[calibrate], y[calibrate], sensitive_features=groups[calibrate])
    return model.predict_interval(X[new], sensitive_features=groups[new]).T


def _make_conditional_intervals(base, X, y, calibrate, new):
    """Ends of MAPIE's intervals of new samples, by an intercept and the memberships."""
    from mapie.conditional_conformal_prediction import ConditionalSplitConformalRegressor

    peer = ConditionalSplitConformalRegressor(
        feature_map=lambda rows: np.column_stack((np.ones(len(rows)), rows[:, 3:])),
        estimator=base,
        confidence_level=LEVEL,
        prefit=True,
    )
    peer.conformalize(X[calibrate], y[calibrate])
    intervals = np.asarray(peer.predict_interval(X[new])[1])
    return intervals.reshape(len(new), -1)[:, :2].T
