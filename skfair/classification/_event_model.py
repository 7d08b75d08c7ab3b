"""Probabilities of events, learned; and the columns that they become."""

from functools import partial

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.validation import has_fit_parameter

from skfair.training import before_last_step, probabilities_of, warn_of_told_groups
from skfair.utils._sklearn import safe_indexing

_TOLD = 0.99
"""Share of a group that is guessed right from which on X is said to tell the group."""


_AFFINE = {"positives": (0, 1), "negatives": (1, -1)}
"""Constant and slope of the probability of a part, by that of success; (1, 0) for all others."""


class EventModel:
    """Who is in which event, learned from some of the people.

    Parameters
    ----------
    base : estimator
        A fitted one, whose preprocessing is used.
    parts : list of estimator or None
        Code of those in each part; None where groups are given.
    memberships : list of estimator or None
        Whether somebody is in a part, where that must be learned.
    """

    def __init__(self, base, parts, memberships):
        self.base = base
        self.parts = parts
        self.memberships = memberships

    @classmethod
    def learn(cls, base, estimator, training, events, rows):
        """Fit on some of the people.

        Parameters
        ----------
        base : estimator
            Fitted; its preprocessing is used.
        estimator : estimator, "sensitive_features" or None
            Of groups; None is a small one.
        training : Training
            Features as the base takes them, and weights.
        events : ComparedEvents
            What is to be learned.
        rows : ndarray of int
            Who is learned from.

        Returns
        -------
        model : EventModel
        """
        if not events.parts:
            return cls(base, [], [])
        features = before_last_step(base, safe_indexing(training.people.X, rows))
        weights, target = training.weights[rows], events.codes[rows]
        given = isinstance(estimator, str)
        estimator = small_classifier(features) if given or estimator is None else estimator
        parts, memberships = [], []
        for part, (_, source) in zip(events.parts, events.sources, strict=True):
            inside = part[rows]
            fit = partial(_fit, estimator, features, weights=weights)
            parts.append(None if given else fit(target, rows=np.flatnonzero(inside)))
            learned = source == "learned"
            memberships.append(fit(inside, rows=np.arange(len(rows))) if learned else None)
        return cls(base, parts, memberships)

    def probabilities(self, X, n_codes, codes=None):
        """Probabilities of each code within each part, times those of the part where learned.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the base takes.
        n_codes : int
            Number of codes.
        codes : ndarray of intp, shape (n_samples,), default=None
            Code of each person, where groups are given.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_parts, n_codes)
        """
        features = before_last_step(self.base, X)
        n_samples = features.shape[0] if hasattr(features, "shape") else len(features)
        found = np.zeros((n_samples, len(self.parts), n_codes))
        pairs = zip(self.parts, self.memberships, strict=True)
        for number, (part, membership) in enumerate(pairs):
            if part is None:
                found[np.arange(n_samples), number, codes] = 1.0
            else:
                found[:, number, part.classes_] = probabilities_of(part, features)
            if membership is not None:
                inside = probabilities_of(membership, features) @ membership.classes_
                found[:, number] *= inside[:, np.newaxis]
        return found


def _fit(estimator, features, target, *, weights, rows):
    target, weights = target[rows], weights[rows]
    one = DummyClassifier() if len(np.unique(target)) == 1 else clone(estimator)
    # Quantiles of weighted features take trees of scikit-learn far longer than all the rest.
    counts = (weights != 1.0).any() and has_fit_parameter(one, "sample_weight")
    given = {"sample_weight": weights} if counts else {}
    return one.fit(safe_indexing(features, rows), target, **given)


def small_classifier(features):
    """A classifier that cannot learn its people by heart: few trees of few leaves."""
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


def unseen_probabilities(models, events, X, folds):
    """Probabilities of events of everybody, by models that have not seen them.

    Parameters
    ----------
    models : list of EventModel
        One per fold.
    events : ComparedEvents
        The events.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Whatever the models take.
    folds : list of (train, test)
        Positions.

    Returns
    -------
    probabilities : ndarray of shape (n_samples, n_parts, n_codes)
    """
    found = np.zeros((len(events.codes), *events.table.shape[1:3]))
    if not events.parts:
        return found
    for model, (_, test) in zip(models, folds, strict=True):
        rows = safe_indexing(X, test)
        found[test] = model.probabilities(rows, found.shape[2], events.codes[test])
    return found


def say_if_told(events, probabilities):
    """Warn if nearly all members of every group that is compared are guessed right.

    Parameters
    ----------
    events : ComparedEvents
        The events.
    probabilities : ndarray of shape (n_samples, n_parts, n_codes)
        As `unseen_probabilities` gives them.
    """
    if not events.parts:
        return
    inside, codes = events.parts[0], events.codes[events.parts[0]]
    right = probabilities[inside, 0].argmax(axis=1) == codes
    counts = np.bincount(codes, minlength=events.table.shape[2])
    compared = (counts > 0) & events.table[:, 0].any(axis=(0, 2))
    shares = np.bincount(codes, right, len(counts))[compared] / counts[compared]
    if len(shares) and (shares >= _TOLD).all():
        warn_of_told_groups("with group_estimator='given'")


def _success_in(sources, success):
    """Probability of each part as far as that of success tells it, (n_samples, n_parts)."""
    told = {"positives": success, "negatives": 1.0 - success}
    ones = np.ones_like(success)
    return np.column_stack([told.get(source, ones)[:, contest] for contest, source in sources])


class ColumnMaker:
    """Columns of a linear model, from log-odds and probabilities of events.

    Parameters
    ----------
    models : list of EventModel
        New people get the mean of their probabilities.
    table, sources, compares_scores
        As in `ComparedEvents`.
    """

    def __init__(self, models, table, sources, compares_scores):
        self.models = models
        self.table = table
        self.sources = sources
        self.compares_scores = compares_scores

    def probabilities(self, X, codes):
        """Probabilities of events of new people, (n_samples, n_parts, n_codes)."""
        if not self.sources:
            return None
        n_codes = self.table.shape[2]
        return np.mean([model.probabilities(X, n_codes, codes) for model in self.models], axis=0)

    def columns(self, odds, probabilities):
        """Columns of people, of which scores are made; the first of them are the log-odds.

        Parameters
        ----------
        odds : ndarray of shape (n_samples, n_contests)
            Log-odds of each contest's positive class.
        probabilities : ndarray of shape (n_samples, n_parts, n_codes)
            Of the events.

        Returns
        -------
        columns : ndarray of shape (n_contests, n_samples, 1 + n_columns)
        """
        own = odds.T[:, :, np.newaxis]
        if not self.sources:
            return own
        told = _success_in(self.sources, expit(odds))
        found = np.einsum("ip,ipg,cpgr->cir", told, probabilities, self.table, optimize=True)
        stretched = [own * found] if self.compares_scores else []
        return np.concatenate((own, found, *stretched), axis=2)

    def weights(self, coef):
        """Coefficients of the columns of two classes, gathered by what they are multiplied with.

        Parameters
        ----------
        coef : ndarray of shape (n_columns,)
            Those of all columns after the log-odds.

        Returns
        -------
        weights : ndarray of shape (4, n_parts, n_codes)
            Of each part and code: the weight of its probability, and of this times the probability
            of success, times the log-odds, and times both.
        """
        if not self.sources:
            return np.zeros((4, 1, 1))
        sources = [source for _, source in self.sources]
        constant, success = np.transpose([_AFFINE.get(source, (1, 0)) for source in sources])
        found = []
        for own in np.split(coef, 1 + self.compares_scores):
            per_event = self.table[0] @ own
            found += [constant[:, np.newaxis] * per_event, success[:, np.newaxis] * per_event]
        return np.array(found + [np.zeros_like(per_event)] * (4 - len(found)))
