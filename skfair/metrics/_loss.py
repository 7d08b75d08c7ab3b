"""How much the mean loss of a classifier differs between groups."""

import numpy as np
from sklearn.utils import check_array

from skfair.losses import LOSSES
from skfair.metrics._people import check_people
from skfair.metrics._rates import labels_of, positive_class


def loss_parity_difference(
    y_true, y_score, *, sensitive_features, loss="logistic", sample_weight=None, pos_label=None
):
    r"""Largest minus smallest mean loss of a group.

    .. math:: \max_{g, g'} \bigl( E[\ell(s, y) \mid g] - E[\ell(s, y) \mid g'] \bigr)

    This is what :class:`skfair.constraints.LossParity` bounds.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True class of each sample, of two classes.
    y_score : array-like of shape (n_samples,)
        Values of the decision function; not probabilities.
    sensitive_features : array-like or sparse matrix
        Group of each sample, as in :func:`demographic_parity_difference`.
    loss : str or callable, default="logistic"
        Name in :data:`skfair.losses.LOSSES`, or a callable (scores, target) -> Pointwise with
        targets -1 and +1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a sample of weight zero counts as absent.
    pos_label : int, float, bool or str, default=None
        The positive class. None takes 1 if the labels are 0 and 1, -1 and 1 or booleans, else the
        larger of two labels.

    Returns
    -------
    difference : float
        In the unit of the loss, 0 is fair; 0 with a single group.

    Raises
    ------
    ValueError
        If the inputs differ in length or in their pandas index, scores are not finite, a loss has
        no such name, or the positive class cannot be told.

    Examples
    --------
    >>> from skfair.metrics import loss_parity_difference
    >>> group = ["a", "a", "b", "b"]
    >>> loss_parity_difference(
    ...     [1, 0, 1, 0], [2.0, -2.0, 0.0, 0.0], sensitive_features=group, loss="squared_hinge"
    ... )
    0.5
    """
    if isinstance(loss, str) and loss not in LOSSES:
        raise ValueError(f"loss must be one of {sorted(LOSSES)} or a callable, but {loss!r} came.")
    people, (truth, scores) = check_people(
        sensitive_features, sample_weight, y_true=y_true, y_score=y_score
    )
    scores = check_array(scores, ensure_2d=False, dtype=np.float64, input_name="y_score")
    positive = truth == positive_class(labels_of(truth), pos_label)
    evaluate = LOSSES[loss] if isinstance(loss, str) else loss
    losses = evaluate(scores, np.where(positive, 1.0, -1.0)).value
    weights = people.weights[people.rows]
    means = np.bincount(people.codes, weights * losses[people.rows])
    return float(np.ptp(means / np.bincount(people.codes, weights)))
