"""Probabilities from scores, and as near to them as decisions allow."""

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

_SUREST = 1.0 - 1e-9
"""Largest probability of one of several classes; its log-odds are finite."""

_LEAD = 1e-9
"""By how much the class decided for leads at least."""


def log_odds(margins, calibration):
    """Log-odds of classes by margins.

    Parameters
    ----------
    margins : ndarray of shape (n_samples, n_margins)
        Of the positive one of two classes, or of each of more.
    calibration : ndarray of shape (2,) or (n_margins, 2)
        As `calibrate` finds it for each.

    Returns
    -------
    odds : ndarray of shape (n_samples, n_margins)
        Those of more classes are of probabilities that sum to 1.
    """
    slope, intercept = np.atleast_2d(calibration).T
    odds = slope * margins + intercept
    if odds.shape[1] == 1:
        return odds
    success = np.maximum(expit(odds), np.finfo(float).tiny)
    return logit(np.minimum(success / success.sum(axis=1, keepdims=True), _SUREST))


def calibrate(margins, training):
    """Slope and intercept of the log-odds by the margins (Platt's scaling).

    Parameters
    ----------
    margins : ndarray of shape (n_samples,)
        Scores of people by models that have not seen them, positive for the positive class.
    training : Training
        Their targets and weights.

    Returns
    -------
    calibration : ndarray of shape (2,)
    """
    share = training.weights / training.weights.sum()
    center = share @ margins
    spread = np.sqrt(share @ (margins - center) ** 2)
    if spread <= 1e-12 * (1.0 + abs(center)):
        rate = share @ (training.target > 0)
        return np.array([0.0, np.log(rate / (1.0 - rate))])
    # A penalty that matters only where the margins divide the classes without error.
    platt = LogisticRegression(C=1e6, max_iter=1000)
    column = ((margins - center) / spread)[:, np.newaxis]
    platt.fit(column, training.target > 0, sample_weight=share)
    slope = platt.coef_[0, 0] / spread
    return np.array([slope, platt.intercept_[0] - slope * center])


def levelled(probabilities, decided):
    """The nearest probabilities, by least squares, of which that of the class decided for leads.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        Calibrated ones.
    decided : ndarray of int, shape (n_samples,)
        Position of the class decided for.

    Returns
    -------
    probabilities : ndarray of shape (n_samples, n_classes)
    """
    numbers = np.arange(len(probabilities))
    found = probabilities / probabilities.sum(axis=1, keepdims=True)
    others = found.copy()
    others[numbers, decided] = -np.inf
    ranking = np.argsort(-others, axis=1)
    # The class is raised, and the likeliest of the others lowered, to the mean of them all.
    total, level = found[numbers, decided], found[numbers, decided]
    for count, rival in enumerate(ranking[:, :-1].T, start=1):
        is_above = found[numbers, rival] > level
        total = np.where(is_above, total + found[numbers, rival], total)
        level = np.where(is_above, total / (count + 1), level)
    found = np.minimum(found, level[:, np.newaxis])
    found[numbers, decided] = level
    found *= 1.0 - _LEAD
    found[numbers, decided] += _LEAD
    return found


def stretched(odds, scores, slope):
    """Probabilities that are at 1/2 where the score is 0, and else as near as that allows.

    Parameters
    ----------
    odds : ndarray of shape (n_samples,)
        Calibrated log-odds.
    scores : ndarray of shape (n_samples,)
        Positive where success is decided for.
    slope : float
        Of the scores by the log-odds.

    Returns
    -------
    success : ndarray of shape (n_samples,)
    """
    if slope > 0:
        probability, threshold = expit(odds), expit(odds - scores / slope)
        with np.errstate(divide="ignore", invalid="ignore"):
            below = probability / (2.0 * threshold)
            above = 1.0 - (1.0 - probability) / (2.0 * (1.0 - threshold))
        success = np.where(scores > 0, above, below)
    else:
        success = expit(scores)
    half = np.nextafter(0.5, np.where(scores > 0, 1.0, 0.0))  # decisions and probabilities agree
    return np.where(scores > 0, np.clip(success, half, 1.0), np.clip(success, 0.0, half))
