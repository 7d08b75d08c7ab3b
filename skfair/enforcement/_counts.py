"""What decisions come to, counted over the parts of a problem."""

from functools import partial

import numpy as np

from skfair.enforcement._stops import MARGIN

N_TURNS = 1024
"""Intervals between the stops of a line."""


def decide(part, points):
    """What a part adds to errors and means of several models, as the public metrics count them.

    Parameters
    ----------
    part : ConstrainedProblem
        Some of the samples.
    points : ndarray of shape (n_points, n_parameters)
        Parameters of the models.

    Returns
    -------
    errors : ndarray of shape (n_points,)
        Weight of wrong decisions.
    decided : ndarray of shape (n_points, 2)
        Number of negative and of positive decisions.
    unclear : ndarray of shape (n_points,)
        Number of scores that might change sign when summed in another order.
    means : tuple of ndarray, each of shape (n_points, n_events)
        One for every constraint.
    """
    all_scores = [part.predicted(own) for own in points]
    wrong = [part.share.dot((scores > 0) != (part.target > 0)) for scores in all_scores]
    positives = np.array([np.count_nonzero(scores > 0) for scores in all_scores])
    means = tuple(
        np.array([one.means.exact_at(scores) for scores in all_scores]) for one in part.constraint
    )
    decided = np.column_stack((len(part.target) - positives, positives))
    unclear = [_n_unclear(scores) for scores in all_scores]
    return np.array(wrong), decided, np.array(unclear), means


def _n_unclear(scores):
    sizes = np.abs(scores)
    return np.count_nonzero((sizes > 0) & (sizes <= MARGIN * (1.0 + sizes.max(initial=0.0))))


def missed(part, parameters):
    """What a part adds to what smooth means lack of those of the decisions, by constraint.

    Parameters
    ----------
    part : ConstrainedProblem
        Some of the samples.
    parameters : ndarray of shape (n_parameters,)
        Those of the model.

    Returns
    -------
    missed : tuple of ndarray, each of shape (n_events,)
    """
    scores = part.model.at(parameters).scores
    return tuple(one.means.residual(scores) for one in part.constraint)


def flips(part, start, directions, typical):
    """What decisions of a part add to errors and means as they flip along lines.

    Parameters
    ----------
    part : ConstrainedProblem
        Some of the samples.
    start : ndarray of shape (n_parameters,)
        Where the lines begin.
    directions : ndarray of shape (n_lines, n_parameters)
        Where they go.
    typical : ndarray of shape (n_lines,)
        Half of the stops of a line lie nearer to its start.

    Returns
    -------
    errors : ndarray of shape (n_lines, n_turns + 1)
        Weight of wrong decisions before the first stop, and what every stop adds to it.
    means : tuple of ndarray, each of shape (n_lines, n_events, n_turns + 1)
        The same of the means of each constraint, less those of negative decisions alone.
    negative : tuple of ndarray, each of shape (n_events,)
        Means of negative decisions.
    """
    scores = part.model.at(start).scores
    count = partial(_flips_of_line, part, scores)
    found = [count(*line) for line in zip(directions, typical, strict=True)]
    errors, means = zip(*found, strict=True)
    negative = tuple(one.means.flip_effects[1] for one in part.constraint)
    return np.array(errors), tuple(map(np.array, zip(*means, strict=True))), negative


def _flips_of_line(part, scores, direction, typical):
    from skfair._kernels.flips import add_flips, bin_flips

    slopes = part.model.scores(direction)
    turns, decisions = bin_flips(scores, slopes, MARGIN, typical, N_TURNS)

    def added(samples, events, effects, n_events):
        sums = np.zeros((n_events, N_TURNS + 1))
        add_flips(samples, events, effects, decisions, turns, sums)
        return sums

    everybody = np.arange(len(scores))
    errors = added(everybody, np.zeros_like(everybody), -part.share * part.target, 1)[0]
    errors[0] += part.share @ (part.target > 0)
    means = []
    for one in part.constraint:
        samples, events, _ = one.events.memberships
        means.append(added(samples, events, one.means.flip_effects[0], one.events.n_events))
    return errors, tuple(means)
