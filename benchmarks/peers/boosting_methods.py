"""Other methods that constrain gradient boosting: decisions about the held-out data of a split."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.peers.erm_methods import moment
from skfair._groups import check_groups
from skfair.constraints import CONSTRAINTS
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid


def exponentiated_gradient(base, split, constraint, tolerance):
    """Randomised classifier of fairlearn."""
    from fairlearn.reductions import ExponentiatedGradient

    train, test = split.train, split.test
    model = ExponentiatedGradient(base(), moment(constraint, tolerance))
    model.fit(train.X, train.y, sensitive_features=train.groups)
    return model.predict(test.X, random_state=0)


def grid_search(base, split, constraint, tolerance):
    """Best classifier in fairlearn's grid of multipliers."""
    from fairlearn.reductions import GridSearch

    train, test = split.train, split.test
    model = GridSearch(base(), moment(constraint, tolerance), grid_size=15)
    return model.fit(train.X, train.y, sensitive_features=train.groups).predict(test.X)


def threshold_optimizer(base, split, constraint, tolerance):
    """Randomised thresholds by group of fairlearn, which for equalised odds aim at a gap of 0.

    For that constraint alone they have no tolerance.
    """
    from fairlearn.postprocessing import ThresholdOptimizer

    train, test = split.train, split.test
    model = ThresholdOptimizer(
        estimator=base(),
        constraints=constraint,
        predict_method="predict_proba",
        tol=None if constraint == "equalized_odds" else tolerance,
    )
    model.fit(train.X, train.y, sensitive_features=train.groups)
    return model.predict(test.X, sensitive_features=test.groups, random_state=0)


def fair_gbm(split, constraint, tolerance, n_trees=100):
    """FairGBM, which constrains error rates of its training data, but no selection rates."""
    # Its wrappers need an older scikit-learn; its trees do not.
    import fairgbm

    assert constraint == "equalized_odds"
    train, test = split.train, split.test
    _, codes = np.unique(train.groups, return_inverse=True)
    settings = {
        "objective": "constrained_cross_entropy",
        "constraint_type": "FPR,FNR",
        "constraint_fpr_tolerance": tolerance,
        "constraint_fnr_tolerance": tolerance,
        "num_leaves": 31,
        "learning_rate": 0.1,
        "num_threads": 1,
        "verbosity": -1,
    }
    data = fairgbm.Dataset(train.X, label=train.y, constraint_group=codes)
    model = fairgbm.train(settings, data, num_boost_round=n_trees)
    return (model.predict(test.X) > 0.5).astype(int)


def lagrangian_boosting(split, constraint, tolerance, n_trees=100, rate=1.0):
    """Trees from gradient and curvature of the Lagrangian, with dual ascent between them.

    It bounds smooth rates of its training data, as custom objectives do.
    """
    train, test = split.train, split.test
    target = np.where(train.y > 0, 1.0, -1.0)
    weights = np.ones(len(target))
    samples = Samples(target, check_groups(train.groups, len(target)), weights)
    loss = LogisticLoss()
    bound = CONSTRAINTS[constraint]().bind(samples, Sigmoid(0.25), loss, tolerance).rows
    scores = np.zeros(len(target))
    trees = []
    multipliers = np.zeros(len(bound.lower))
    for _ in range(n_trees):
        rows = bound(scores, bound.initial_aux(scores))
        losses = loss(scores, target)
        slope = losses.slope / len(target) + rows.jacobian.adjoint(multipliers)
        curvature = np.maximum(losses.curvature / len(target), 1e-3 / len(target))
        step = HistGradientBoostingRegressor(
            max_iter=1, learning_rate=1.0, early_stopping=False, random_state=0
        )
        step.fit(train.X, -slope / curvature, sample_weight=curvature * len(target))
        trees.append(step)
        scores += 0.1 * step.predict(train.X)
        rows = bound(scores, bound.initial_aux(scores))
        raised = multipliers + rate * (rows.values - np.clip(rows.values, bound.lower, bound.upper))
        multipliers = np.where(multipliers * raised < 0, 0.0, raised)
        slack = (rows.values > bound.lower) & (rows.values < bound.upper)
        multipliers[slack] *= 0.9  # decrease the multipliers of inactive rows
    assert np.abs(multipliers).max() > 0, "the constraint is never active"
    return (sum(0.1 * tree.predict(test.X) for tree in trees) > 0).astype(int)
