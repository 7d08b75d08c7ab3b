"""Probabilities of events, estimated from X, and the features of the final linear model."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from skfair.postprocessing._scores import final_step_features, predict_probabilities
from skfair.training import warn_of_group_in_features
from skfair.utils._sklearn import safe_indexing

_REVEALED = 0.99
"""Share of a group's members that are recognised, from which on X is said to reveal the group."""

_AFFINE = {"positives": (0, 1), "negatives": (1, -1)}
"""Constant and slope of a subset's probability as a function of success; (1, 0) for all others."""


class EventModel(NamedTuple):
    """Classifiers of the events, on features preprocessed by a fitted estimator.

    ``group_models`` has a classifier of group codes within each subset, or None where groups are
    known; ``subset_models`` one of membership in each subset, or None where that needs none.
    """

    base: Any
    group_models: list
    subset_models: list

    @classmethod
    def fit(cls, base, group_estimator, training, events, rows):
        """Fit to some rows of the training data."""
        if not events.subsets:
            return cls(base, [], [])
        # Groups are learned from what the classifier's last step gets: preprocessing is not
        # repeated.
        features = final_step_features(base, safe_indexing(training.samples.X, rows))
        weights, codes = training.samples.weights[rows], events.codes[rows]
        knows_groups = isinstance(group_estimator, str)
        if knows_groups or group_estimator is None:
            group_estimator = _small_classifier(features)
        fit = partial(_fit_classifier, group_estimator, features, weights=weights)
        group_models, subset_models = [], []
        for subset, (_, source) in zip(events.subsets, events.sources, strict=True):
            inside = subset[rows]
            # Group given the subset, and membership in the subset where nothing else gives it.
            group_models.append(None if knows_groups else fit(codes, rows=np.flatnonzero(inside)))
            subset_models.append(
                fit(inside, rows=np.arange(len(rows))) if source == "learned" else None
            )
        return cls(base, group_models, subset_models)

    def probabilities(self, X, n_codes, codes=None):
        """Probability of each code within each subset, (n_samples, n_subsets, n_codes).

        It is multiplied with that of a subset that is learned. ``codes`` are the known groups.
        """
        features = final_step_features(self.base, X)
        n_samples = features.shape[0] if hasattr(features, "shape") else len(features)
        probabilities = np.zeros((n_samples, len(self.group_models), n_codes))
        pairs = zip(self.group_models, self.subset_models, strict=True)
        for number, (group_model, subset_model) in enumerate(pairs):
            if group_model is None:
                probabilities[np.arange(n_samples), number, codes] = 1.0
            else:
                # Groups without a training sample in the subset keep probability 0.
                columns = predict_probabilities(group_model, features)
                probabilities[:, number, group_model.classes_] = columns
            if subset_model is not None:
                inside = predict_probabilities(subset_model, features) @ subset_model.classes_
                probabilities[:, number] *= inside[:, np.newaxis]
        return probabilities


def _fit_classifier(estimator, features, target, *, weights, rows):
    """A clone fitted to some rows; a constant classifier where the target is constant."""
    target, weights = target[rows], weights[rows]
    is_constant = len(np.unique(target)) == 1
    classifier = DummyClassifier() if is_constant else clone(estimator)
    # Unit weights are not passed: quantiles of weighted features take scikit-learn's trees longer
    # than all the rest.
    has_weights = (weights != 1.0).any() and has_fit_parameter(classifier, "sample_weight")
    params = {"sample_weight": weights} if has_weights else {}
    return classifier.fit(safe_indexing(features, rows), target, **params)


def _small_classifier(features):
    """A classifier of too little capacity to overfit: few trees of few leaves."""
    if sparse.issparse(features):
        return make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))
    return HistGradientBoostingClassifier(
        learning_rate=0.2,
        max_iter=30,
        max_leaf_nodes=4,
        min_samples_leaf=50,
        early_stopping=False,
        random_state=0,
    )


def fit_event_models(bases, group_estimator, training, events, train_rows, n_jobs=None):
    """One `EventModel` for each of several sets of training rows, by the fitted base estimators."""
    bases = bases if len(bases) == len(train_rows) else bases * len(train_rows)
    return Parallel(n_jobs=n_jobs)(
        delayed(EventModel.fit)(base, group_estimator, training, events, rows)
        for base, rows in zip(bases, train_rows, strict=True)
    )


def out_of_fold_probabilities(models, events, X, folds):
    """Probabilities of the events by the models of the folds, (n_samples, n_subsets, n_codes)."""
    probabilities = np.zeros((len(events.codes), *events.table.shape[1:3]))
    if not events.subsets:
        return probabilities
    for model, (_, test) in zip(models, folds, strict=True):
        rows = safe_indexing(X, test)
        probabilities[test] = model.probabilities(rows, probabilities.shape[2], events.codes[test])
    return probabilities


def warn_if_groups_predictable(events, probabilities):
    """Warn if nearly all members of every compared group are recognised from X."""
    if not events.subsets:
        return
    inside, codes = events.subsets[0], events.codes[events.subsets[0]]
    # Share of each group that is recognised out of fold.
    is_right = probabilities[inside, 0].argmax(axis=1) == codes
    counts = np.bincount(codes, minlength=events.table.shape[2])
    compared = (counts > 0) & events.table[:, 0].any(axis=(0, 2))
    shares = np.bincount(codes, is_right, len(counts))[compared] / counts[compared]
    if len(shares) and (shares >= _REVEALED).all():
        warn_of_group_in_features("with group_estimator='sensitive_features'")


class EventFeatures(NamedTuple):
    """Features of the final linear model, from log-odds and probabilities of events.

    New samples get the mean of the probabilities by ``models``; the other attributes are those of
    `ConstraintEvents`.
    """

    models: list
    table: np.ndarray
    sources: list
    compares_scores: bool

    def probabilities(self, X, codes):
        """Probabilities of events of new samples, (n_samples, n_subsets, n_codes), or None."""
        if not self.sources:
            return None
        n_codes = self.table.shape[2]
        return np.mean([model.probabilities(X, n_codes, codes) for model in self.models], axis=0)

    def features(self, odds, probabilities):
        """Features of each one-vs-rest problem, (n_problems, n_samples, 1 + n_features).

        The first is the log-odds of the problem's positive class, in a column of ``odds``.
        """
        log_odds = odds.T[:, :, np.newaxis]
        if not self.sources:
            return log_odds
        # P(subset, group | x) = P(group | x, subset) P(subset | x)
        by_subset = _subset_probabilities(self.sources, expit(odds))
        factors = by_subset, probabilities, self.table
        features = np.einsum("ip,ipg,cpgr->cir", *factors, optimize=True)
        # Ranks and losses depend on the size of scores: the weight of an event varies with the
        # log-odds.
        products = [log_odds * features] if self.compares_scores else []
        return np.concatenate((log_odds, features, *products), axis=2)

    def weights(self, coef):
        """Coefficients of two classes by what they multiply, (4, n_subsets, n_codes).

        ``coef`` are those after the log-odds. The factors of an event's probability are 1, the
        probability of success, the log-odds, and the product of both.
        """
        if not self.sources:
            return np.zeros((4, 1, 1))
        sources = [source for _, source in self.sources]
        constant, slope = np.transpose([_AFFINE.get(source, (1, 0)) for source in sources])
        weights = []
        # Features are linear in the events' probabilities: collect the coefficient of each event.
        for block in np.split(coef, 1 + self.compares_scores):
            per_event = self.table[0] @ block
            weights += [constant[:, np.newaxis] * per_event, slope[:, np.newaxis] * per_event]
        return np.array(weights + [np.zeros_like(per_event)] * (4 - len(weights)))


def _subset_probabilities(sources, success):
    """P(subset | x) where it follows from the probabilities of success, (n_samples, n_subsets)."""
    known = {"positives": success, "negatives": 1.0 - success}
    ones = np.ones_like(success)
    return np.column_stack([known.get(source, ones)[:, problem] for problem, source in sources])
