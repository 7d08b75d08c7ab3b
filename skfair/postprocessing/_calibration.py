"""Calibrated probabilities, moved as little as the decisions require."""

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

_LARGEST = 1.0 - 1e-9
"""Largest probability of one of several classes; its log-odds are finite."""

_LEAD = 1e-9
"""Minimum lead of the predicted class."""


def calibrate(scores, training):
    """Slope and intercept of the log-odds as a function of out-of-fold scores (Platt scaling)."""
    share = training.samples.weights / training.samples.weights.sum()
    center = share @ scores
    spread = np.sqrt(share @ (scores - center) ** 2)
    # Constant scores: the log-odds of the positive class's share.
    if spread <= 1e-12 * (1.0 + abs(center)):
        rate = share @ (training.samples.target > 0)
        return np.array([0.0, np.log(rate / (1.0 - rate))])
    # The penalty matters only where the scores separate the classes perfectly.
    platt = LogisticRegression(C=1e6, max_iter=1000)
    column = ((scores - center) / spread)[:, np.newaxis]
    platt.fit(column, training.samples.target > 0, sample_weight=share)
    slope = platt.coef_[0, 0] / spread
    return np.array([slope, platt.intercept_[0] - slope * center])


def calibrated_log_odds(scores, calibration):
    """Log-odds of each class's score, (n_samples, n_scores); of several, probabilities sum to 1."""
    slope, intercept = np.atleast_2d(calibration).T
    odds = slope * scores + intercept
    if odds.shape[1] == 1:
        return odds
    success = np.maximum(expit(odds), np.finfo(float).tiny)
    return logit(np.minimum(success / success.sum(axis=1, keepdims=True), _LARGEST))


def match_classes(probabilities, classes):
    """The nearest probabilities, by least squares, of which the predicted class has the largest.

    ``classes`` holds the position of each sample's predicted class.
    """
    rows = np.arange(len(probabilities))
    matched = probabilities / probabilities.sum(axis=1, keepdims=True)
    others = matched.copy()
    others[rows, classes] = -np.inf
    ranking = np.argsort(-others, axis=1)
    # Raise the predicted class, and lower the likelier others, to the mean of them all.
    total, level = matched[rows, classes], matched[rows, classes]
    for count, rival in enumerate(ranking[:, :-1].T, start=1):
        is_above = matched[rows, rival] > level
        total = np.where(is_above, total + matched[rows, rival], total)
        level = np.where(is_above, total / (count + 1), level)
    matched = np.minimum(matched, level[:, np.newaxis])
    matched[rows, classes] = level
    # Break the tie.
    matched *= 1.0 - _LEAD
    matched[rows, classes] += _LEAD
    return matched


def match_decisions(odds, scores, slope):
    """Calibrated probabilities, stretched on both sides of the threshold until it is at 1/2.

    Scores have the given slope in the log-odds, and are positive where success is predicted.
    """
    if slope > 0:
        probability, threshold = expit(odds), expit(odds - scores / slope)
        with np.errstate(divide="ignore", invalid="ignore"):
            below = probability / (2.0 * threshold)
            above = 1.0 - (1.0 - probability) / (2.0 * (1.0 - threshold))
        success = np.where(scores > 0, above, below)
    else:
        success = expit(scores)
    # Rounding must not move a probability to the other side.
    half = np.nextafter(0.5, np.where(scores > 0, 1.0, 0.0))
    return np.where(scores > 0, np.clip(success, half, 1.0), np.clip(success, 0.0, half))
