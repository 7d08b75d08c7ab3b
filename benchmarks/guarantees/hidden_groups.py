"""How often limits contain the population's gap where groups are recorded for some samples only."""

import warnings
from functools import cache, partial
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit, ndtri
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.data import fetch_adult, fetch_compas
from benchmarks.records import Run, load_or_run
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair._statistics.estimates import pairwise_contrasts
from skfair._statistics.hidden_groups import (
    MIN_RECORDED,
    ProbabilisticGroups,
    RecordedGroups,
    extreme_contrasts,
)
from skfair.classification import ConstrainedERMClassifier
from skfair.metrics import demographic_parity_difference

N_REDRAWS = {5: 500, 1: 20}
"""Redraws of each cell, by the runs of the budget."""
BLOCK = 20
"""Redraws of one record."""

LEVEL, ODDS_RATIO = 0.95, np.e
SHARES = (0.05, 0.2, 0.5)
MECHANISMS = ("at random alone", "by x, d, y", "by x, d, y, not logistic", "by the group")
"""What being recorded depends on. The first three are missing at random."""
_SETTINGS = "1"


class Population(NamedTuple):
    """Samples that are redrawn: features, scores, decisions, outcomes and groups."""

    X: np.ndarray
    scores: np.ndarray
    decisions: np.ndarray
    y: np.ndarray
    groups: np.ndarray

    def take(self, rows):
        """The samples at these positions."""
        return Population(*(column[rows] for column in self))


def _read_adult():
    """Features, outcomes and sexes of Adult."""
    adult = fetch_adult()
    names = ["age", "education-num", "hours-per-week"]
    X = pd.concat(
        [
            adult.data[names].astype(float),
            np.log1p(adult.data[["capital-gain", "capital-loss"]].astype(float)),
            pd.get_dummies(adult.data[["marital-status", "occupation"]], dtype=float),
        ],
        axis=1,
    )
    is_high = adult.target.astype(str).str.startswith(">50K")
    return X.to_numpy(), is_high.to_numpy(), adult.sensitive_features == "Female"


def _read_compas():
    """Features, outcomes and races of COMPAS."""
    compas = fetch_compas()
    data = compas.data
    X = np.column_stack(
        [
            data["age"],
            np.log1p(data["priors_count"]),
            data["c_charge_degree"].astype(str) == "F",
            data["sex"].astype(str) == "Male",
            data["juv_fel_count"] > 0,
            data["juv_misd_count"] > 0,
            data["age"] < 25,
        ]
    )
    race = data["race"].astype(str) == "African-American"
    return X.astype(float), compas.target.to_numpy() == 1, race


def _generate(n=120_000):
    """Features, outcomes and three groups of a generated population."""
    rng = np.random.default_rng(5)
    groups = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    shifts = np.array([[0, 0, 0, 0, 0], [0.8, -0.5, 0, 0.3, 0], [-0.3, -0.9, 0.5, 0, 0.4]])
    X = rng.normal(size=(n, 5)) + shifts[groups]
    odds = X @ [0.9, 0.9, -0.4, 0.3, 0.0] - 0.4 - np.array([0.0, 0.3, 0.5])[groups]
    return X, rng.random(n) < expit(odds), groups


POPULATIONS = {
    "Adult": (_read_adult, 15_000, 5000),
    "COMPAS": (_read_compas, 2000, 2000),
    "generated": (_generate, 15_000, 5000),
}
"""Name -> reader, samples that fit the decision rule, and samples of a redraw."""


@cache
def population(name):
    """The population of a name, without the samples that fit its decision rule.

    Parameters
    ----------
    name : str
        Name in `POPULATIONS`.

    Returns
    -------
    population : Population
    """
    read, n_fit, _ = POPULATIONS[name]
    X, y, groups = read()
    X = StandardScaler().fit_transform(X)
    y = np.asarray(y, int)
    groups = np.asarray(groups, int)
    order = np.random.default_rng(0).permutation(len(y))
    fit, rest = order[:n_fit], order[n_fit:]
    scores = LogisticRegression(max_iter=300).fit(X[fit], y[fit]).decision_function(X[rest])
    return Population(X[rest], scores, (scores > 0).astype(int), y[rest], groups[rest])


def draw_records(samples, share, mechanism, rng):
    """Mask of the samples whose group is recorded.

    Parameters
    ----------
    samples : Population
        The samples of a redraw.
    share : float
        Mean probability of a record.
    mechanism : str
        Name in `MECHANISMS`.
    rng : Generator
        Source of the records.

    Returns
    -------
    is_recorded : ndarray of bool, shape (n_samples,)
    """
    x = samples.X[:, 0]
    decisions = samples.decisions
    odds = np.zeros(len(x))
    if mechanism != MECHANISMS[0]:
        odds = 0.7 * x.clip(-2.0, 2.0) + decisions + 0.5 * samples.y
    if mechanism == MECHANISMS[2]:
        side = 1.5 * decisions * np.sign(samples.X[:, 1])
        odds = 1.2 * np.abs(x).clip(0.0, 2.0) + side + 0.5 * samples.y
    if mechanism == MECHANISMS[3]:
        odds += (2.0 * decisions - 1.0) * (samples.groups == samples.groups.max())
    shift = brentq(lambda shift: expit(odds + shift).mean() - share, -20.0, 20.0)
    return rng.random(len(x)) < expit(odds + shift)


def redraw(name, share, mechanism, block):
    """Whether limits contain the population's gap, and their widths, of a block of redraws.

    Parameters
    ----------
    name : str
        Name in `POPULATIONS`.
    share : float
        Share of recorded groups.
    mechanism : str
        Name in `MECHANISMS`.
    block : int
        Number of the block, of which the seeds follow.

    Returns
    -------
    record : dict of str to list
        By rate and odds ratio: pairs of whether the limits contain the gap, and of their width.
    """
    source = population(name)
    record = {}
    for seed in range(BLOCK * block, BLOCK * (block + 1)):
        rng = np.random.default_rng(1000 + seed)
        rows = rng.integers(len(source.y), size=POPULATIONS[name][2])
        samples = source.take(rows)
        is_recorded = draw_records(samples, share, mechanism, rng)
        columns = samples.X, samples.scores, samples.decisions, samples.y
        features = np.column_stack([*columns, samples.decisions * samples.y])
        model = _model_groups(samples.groups, is_recorded, features)
        values = samples.decisions.astype(np.float64)
        for rate, masks in _conditions(samples, source).items():
            compared = np.flatnonzero(model.count(masks[0]) >= MIN_RECORDED)
            if len(compared) < 2:
                continue
            truth = np.ptp(_true_rates(source, masks[1])[compared])
            for ratio in (1.0, ODDS_RATIO, np.inf):
                assumed = model.replace_odds_ratio(ratio)
                low, high = _limit_gap(assumed, values, masks[0], compared)
                one = bool(low <= truth <= high), high - low
                record.setdefault(f"{rate}, {ratio:.1f}", []).append(one)
    return record


def _model_groups(groups, is_recorded, features):
    """Model groups, numbers from 0 on, of which some samples have no record."""
    names = [str(one) for one in range(groups.max() + 1)]
    return RecordedGroups(names, np.where(is_recorded, groups, -1), features)


def _limit_gap(groups, values, within, compared):
    """Limits of the gap between rates of groups of which only the ends are known."""
    ends = groups.extreme_rates(values, [(within, compared)])
    widest, narrowest = extreme_contrasts(pairwise_contrasts(len(compared)))
    error = 1.0 - LEVEL
    # The lower limit may err for any pair, the upper one for that of the largest difference only.
    low = -ends.upper(-narrowest, 1.0 - error / widest.shape[0]).min()
    high = ends.upper(widest, 1.0 - error / 2.0).max()
    return max(0.0, low), min(1.0, high)


def _conditions(samples, source):
    """Masks that rates are over, in a redraw and in the population."""
    ones = np.ones(len(samples.y), dtype=bool), np.ones(len(source.y), dtype=bool)
    return {"all": ones, "positives": (samples.y == 1, source.y == 1)}


def _true_rates(source, mask):
    """Rates of the groups in the population."""
    groups = source.groups[mask]
    decisions = source.decisions[mask]
    return np.bincount(groups, decisions) / np.bincount(groups)


SMALLEST = {
    "N_REDRAWS": {1: 1},
    "BLOCK": 1,
    "N_SPLITS": {1: 1},
    "SHARES": (0.5,),
    "POPULATIONS": {"generated": (partial(_generate, 2000), 500, 500)},
}
"""Constants at the smallest sizes of the benchmarks below."""


@smallest(**SMALLEST)
def hidden_groups(budget):
    """Groups recorded in part: how often limits contain the population's gap, and their width."""
    n_blocks = N_REDRAWS.get(budget.n_runs, 20) // BLOCK
    records = []
    checks = []
    coverages = []
    for name, share, mechanism in product(POPULATIONS, SHARES, MECHANISMS):
        cell = f"{name}, {share:.0%} recorded, {mechanism}"
        if budget.cells and not any(text in cell for text in budget.cells):
            continue
        make = partial(redraw, name, share, mechanism)
        runs = [
            Run(cell, "limits", block, _SETTINGS, partial(make, block)) for block in range(n_blocks)
        ]
        done = [*load_or_run("hidden-groups", runs, budget).values()]
        for key in sorted(set().union(*done)):
            pairs = np.array([one for record in done for one in record.get(key, [])], dtype=float)
            coverage, width = pairs.mean(axis=0)
            rate, ratio = key.split(", ")
            about = {"population": name, "recorded": share, "depends": mechanism, "rate of": rate}
            about |= {"odds ratio": ratio, "redraws": len(pairs)}
            records.append(about | {"coverage": coverage, "width": width})
            # The last mechanism keeps an odds ratio of e, and is not at random.
            if ratio != "1.0" or mechanism != MECHANISMS[3]:
                error = np.sqrt(LEVEL * (1.0 - LEVEL) / len(pairs))
                bound = LEVEL - 3.0 * error
                checks.append(Check(f"{cell}, {key}", [coverage], ">=", bound))
            if ratio == "1.0" and mechanism != MECHANISMS[3]:
                coverages.append(coverage)
    if coverages:
        checks.append(
            Check(
                "mean coverage of groups missing at random",
                [float(np.mean(coverages))],
                ">=",
                0.945,
            )
        )
    title = (
        f"Intervals at {LEVEL:g} of gaps between groups that are recorded for a share of the "
        "samples: coverage of the population's gap and mean width, by what being recorded depends "
        "on, over all samples and over positives. An odds ratio of 1 assumes groups missing at "
        "random, and inf nothing"
    )
    return Report(title, records, checks)


# Groups that are known as probabilities, alone or next to recorded ones.


AUC_OF_PROXY = 0.75
"""Probability that the proxy of a member of the second group exceeds that of the first."""

STATEMENTS = ("bounds", "sufficient", "independent", "recorded, at random")


def draw_proxy(samples, model, statement, rng):
    """Probabilities of the second of two groups, for which a statement's assumption holds.

    Parameters
    ----------
    samples : Population
        The samples of a redraw, in groups 0 and 1.
    model : LogisticRegression
        Model of the groups of the population, by X.
    statement : str
        Name in `STATEMENTS`.
    rng : Generator
        Source of proxies.

    Returns
    -------
    probabilities : ndarray of shape (n_samples,)
        Probability of the second group.
    """
    if statement == "sufficient":
        return model.predict_proba(samples.X)[:, 1]
    # A normal proxy whose mean depends on the group, and for bounds on the decision too.
    distance = np.sqrt(2.0) * ndtri(AUC_OF_PROXY)
    proxy = rng.normal(size=len(samples.groups)) + distance * samples.groups
    if statement == "bounds":
        proxy += 0.5 * samples.decisions
        fitted = LogisticRegression().fit(proxy[:, np.newaxis], samples.groups)
        return fitted.predict_proba(proxy[:, np.newaxis])[:, 1]
    share = samples.groups.mean()
    return expit(np.log(share / (1.0 - share)) + distance * proxy - distance**2 / 2.0)


def redraw_probabilities(name, statement, share, block):
    """As `redraw`, of a statement on groups that are known as probabilities.

    Parameters
    ----------
    name : str
        Name in `POPULATIONS`.
    statement : str
        Name in `STATEMENTS`.
    share : float
        Share of recorded groups, which only the last statement uses.
    block : int
        Number of the block, of which the seeds follow.

    Returns
    -------
    record : dict of str to list
        By rate: pairs of whether the limits contain the gap, and of their width.
    """
    source = population(name)
    record = {}
    source = source._replace(groups=(source.groups > 0).astype(int))
    model = LogisticRegression(max_iter=300).fit(source.X, source.groups)
    # Where probabilities are sufficient, groups are drawn by them: they have expected rates.
    expected = model.predict_proba(source.X)[:, 1] if statement == "sufficient" else source.groups
    missing = statement if statement in ("sufficient", "independent") else "error"
    for seed in range(BLOCK * block, BLOCK * (block + 1)):
        rng = np.random.default_rng(5000 + seed)
        rows = rng.integers(len(source.y), size=POPULATIONS[name][2])
        samples = source.take(rows)
        second = draw_proxy(samples, model, statement, rng)
        values = samples.decisions.astype(np.float64)
        hidden = ProbabilisticGroups(pd.DataFrame({"0": 1.0 - second, "1": second}), missing)
        if statement == STATEMENTS[3]:
            is_recorded = draw_records(samples, share, MECHANISMS[1], rng)
            known = samples.X, samples.scores, samples.decisions, samples.y
            features = (*known, samples.decisions * samples.y, np.log(second / (1.0 - second)))
            hidden = _model_groups(samples.groups, is_recorded, np.column_stack(features))
        for rate, masks in _conditions(samples, source).items():
            rates = [
                np.average(source.decisions, weights=masks[1] * weights)
                for weights in (1.0 - expected, expected)
            ]
            truth = abs(rates[1] - rates[0])
            compared = np.flatnonzero(hidden.count(masks[0]) >= MIN_RECORDED)
            if len(compared) < 2:
                continue
            low, high = _limit_gap(hidden, values, masks[0], compared)
            record.setdefault(rate, []).append((bool(low <= truth <= high), float(high - low)))
    return record


@smallest(**SMALLEST)
def group_probabilities(budget):
    """Groups known as probabilities: how often limits contain the population's gap, and width."""
    n_blocks = N_REDRAWS.get(budget.n_runs, 20) // BLOCK
    records = []
    checks = []
    cases = [(statement, 0.0) for statement in STATEMENTS[:3]]
    cases += [(STATEMENTS[3], share) for share in SHARES]
    for name, (statement, share) in product(POPULATIONS, cases):
        cell = f"{name}, {statement}, {share:.0%} recorded"
        if budget.cells and not any(text in cell for text in budget.cells):
            continue
        make = partial(redraw_probabilities, name, statement, share)
        runs = [
            Run(cell, "limits", block, _SETTINGS, partial(make, block)) for block in range(n_blocks)
        ]
        done = [*load_or_run("group-probabilities", runs, budget).values()]
        for rate in sorted(set().union(*done)):
            pairs = np.array([one for record in done for one in record.get(rate, [])], dtype=float)
            coverage, width = pairs.mean(axis=0)
            about = {"population": name, "statement": statement, "recorded": share, "rate of": rate}
            records.append(about | {"redraws": len(pairs), "coverage": coverage, "width": width})
            bound = LEVEL - 3.0 * np.sqrt(LEVEL * (1.0 - LEVEL) / len(pairs))
            checks.append(Check(f"{cell}, {rate}", [coverage], ">=", bound))
    if records:
        mean = float(np.mean([record["coverage"] for record in records]))
        checks.append(Check("mean coverage", [mean], ">=", 0.945))
    title = (
        f"Intervals at {LEVEL:g} of gaps between two groups that are known as probabilities: "
        "coverage of the population's gap and mean width where the assumption of the statement "
        "holds, over all samples and over positives. The last one has recorded groups too"
    )
    return Report(title, records, checks)


# Fits to samples of which only a share has a recorded group.


N_SPLITS = {5: 10, 1: 2}
"""Splits of each cell, by the runs of the budget."""

TOLERANCES = {"Adult": 0.02, "COMPAS": 0.05, "generated": 0.02}
TRAINING = {"Adult": 8000, "COMPAS": 2000, "generated": 5000}
"""Training samples by population."""


def split(source, n_train, rng):
    """Training samples, and at most 40,000 of the others."""
    order = rng.permutation(len(source.y))
    return source.take(order[:n_train]), source.take(order[n_train:][:40_000])


def fit_parts(name, share, mechanism, seed):
    """Held-out gap and accuracy of fits to all groups, to recorded ones, and with models of others.

    Parameters
    ----------
    name : str
        Name in `POPULATIONS`.
    share : float
        Share of recorded groups.
    mechanism : str
        Name in `MECHANISMS`.
    seed : int
        Seed of the split.

    Returns
    -------
    record : dict of str to list
        By fit: gap of selection rates in the held-out samples, and accuracy.
    """
    source = population(name)
    rng = np.random.default_rng(seed)
    train, test = split(source, TRAINING[name], rng)
    is_recorded = draw_records(train, share, mechanism, rng)
    names = train.groups.astype(str)
    recorded = np.where(is_recorded, names, None)
    fair = ConstrainedERMClassifier(tolerance=TOLERANCES[name])
    partly = ConstrainedERMClassifier(tolerance=TOLERANCES[name], missing="at_random")
    complete = train.take(is_recorded)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few recorded samples, and of what the constraint costs
        models = {
            "no constraint": LogisticRegression(max_iter=300).fit(train.X, train.y),
            "all groups": fair.fit(train.X, train.y, sensitive_features=names),
            "at random": partly.fit(train.X, train.y, sensitive_features=recorded),
            "recorded alone": clone(fair).fit(
                complete.X, complete.y, sensitive_features=complete.groups
            ),
        }
    record = {}
    for fit, model in models.items():
        decisions = model.predict(test.X)
        gap = demographic_parity_difference(test.y, decisions, sensitive_features=test.groups)
        record[fit] = float(gap), float((decisions == test.y).mean())
    return record


@smallest(**SMALLEST, TRAINING={"generated": 500})
def hidden_fits(budget):
    """Groups of training data recorded in part: held-out gap and accuracy of constrained fits."""
    n_splits = N_SPLITS.get(budget.n_runs, 2)
    records = []
    checks = []
    for name, share, mechanism in product(POPULATIONS, SHARES, MECHANISMS[:2]):
        cell = f"{name}, {share:.0%} recorded, {mechanism}"
        if budget.cells and not any(text in cell for text in budget.cells):
            continue
        make = partial(fit_parts, name, share, mechanism)
        runs = [Run(cell, "fits", seed, _SETTINGS, partial(make, seed)) for seed in range(n_splits)]
        done = [*load_or_run("hidden-fits", runs, budget).values()]
        about = {"population": name, "recorded": share, "depends": mechanism}
        means = {fit: np.mean([record[fit] for record in done], axis=0) for fit in done[0]}
        for fit, (gap, accuracy) in means.items():
            records.append(about | {"fit": fit, "gap": gap, "accuracy": accuracy})
        checks.append(
            Check(f"{cell}, gap", [means["at random"][0]], "<=", means["no constraint"][0])
        )
    title = (
        "Linear classifiers under demographic parity, of training data in which a share of the "
        "groups is recorded: gap and accuracy on held-out samples, means of splits. 'at random' "
        "models the groups that are missing, and 'recorded alone' leaves their samples out"
    )
    return Report(title, records, checks)


FITTED_SHARE = 0.05
"""Share of recorded groups next to probabilities."""


def fit_probable(name, seed):
    """Held-out gap and accuracy of fits to two groups that are known as probabilities.

    The proxy depends on the group alone: the assumption "independent" holds, and "sufficient" does
    not.

    Parameters
    ----------
    name : str
        Name in `POPULATIONS`.
    seed : int
        Seed of the split.

    Returns
    -------
    record : dict of str to list
        By fit: gap of selection rates in the held-out samples, and accuracy.
    """
    source = population(name)
    rng = np.random.default_rng(seed)
    # The last group and the others: the first two of the generated ones have no gap to the rest.
    source = source._replace(groups=(source.groups == source.groups.max()).astype(int))
    train, test = split(source, TRAINING[name], rng)
    second = draw_proxy(train, None, "independent", rng)
    proxies = {"group_probabilities": np.column_stack((1.0 - second, second))}
    is_recorded = draw_records(train, FITTED_SHARE, MECHANISMS[0], rng)
    recorded = {"sensitive_features": np.where(is_recorded, train.groups.astype(str), None)}
    fair = partial(ConstrainedERMClassifier, tolerance=TOLERANCES[name])
    partly = f"{FITTED_SHARE:.0%} recorded"
    fits = {
        "no constraint": (fair(constraint=None), {}),
        "all groups": (fair(), {"sensitive_features": train.groups}),
        "sufficient": (fair(missing="sufficient"), proxies),
        "independent": (fair(missing="independent"), proxies),
        partly: (fair(missing="at_random"), recorded),
        f"{partly}, and probabilities": (fair(missing="at_random"), recorded | proxies),
    }
    record = {}
    for fit, (model, known) in fits.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few recorded samples, and of costs
            decisions = model.fit(train.X, train.y, **known).predict(test.X)
        gap = demographic_parity_difference(test.y, decisions, sensitive_features=test.groups)
        record[fit] = float(gap), float((decisions == test.y).mean())
    return record


@smallest(**SMALLEST, TRAINING={"generated": 500})
def probable_fits(budget):
    """Training data whose groups are known as probabilities: held-out gap and accuracy of fits."""
    n_splits = N_SPLITS.get(budget.n_runs, 2)
    records = []
    checks = []
    for name in POPULATIONS:
        make = partial(fit_probable, name)
        runs = [Run(name, "fits", seed, _SETTINGS, partial(make, seed)) for seed in range(n_splits)]
        done = [*load_or_run("probable-fits", runs, budget).values()]
        means = {fit: np.mean([record[fit] for record in done], axis=0) for fit in done[0]}
        for fit, (gap, accuracy) in means.items():
            records.append({"population": name, "fit": fit, "gap": gap, "accuracy": accuracy})
        for fit in ("independent", [*means][-1]):
            gaps = [means[fit][0] / means["no constraint"][0]]
            checks.append(
                Check(f"{name}, gap of {fit} over that without constraint", gaps, "<=", 0.7)
            )
    title = (
        "Linear classifiers under demographic parity, of training data in which two groups are "
        f"known as probabilities (area under the ROC curve {AUC_OF_PROXY:g}) that depend on the "
        "group alone: gap and accuracy on held-out samples, means of splits"
    )
    return Report(title, records, checks)
